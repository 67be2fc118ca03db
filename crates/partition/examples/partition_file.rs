use partition::{graph::GraphBuilder, limits::{Balance, balanced}, multilevel, task::Task};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let k: usize = a[2].parse().unwrap();
    let mut lines = text.lines();
    let n: usize = lines.next().unwrap().split(' ').next().unwrap().parse().unwrap();
    let mut b = GraphBuilder::new(n);
    for (v, l) in lines.enumerate() {
        let x: Vec<u64> = l.split_whitespace().map(|x| x.parse().unwrap()).collect();
        b.pages(v as u32, x[0]).unwrap();
        for c in x[1..].chunks(2) { if c[0] as usize - 1 > v { b.link(v as u32, c[0] as u32 - 1, c[1] as f64).unwrap(); } }
    }
    let g = b.build().unwrap();
    let limits = Balance::pages(0.03).limits(g.total_load(), &vec![1.0; k]);
    let mut sum = 0.0;
    let seeds: u64 = a.get(3).map_or(1, |s| s.parse().unwrap());
    for seed in 1..=seeds {
        let t = std::time::Instant::now();
        let caps = vec![1.0; k]; let mut task = Task::new(&g, &caps, Balance::pages(0.03)); task.seed = seed; let p = multilevel::partition(&task).unwrap().part;
        let c = g.cut(&p) as f64 / g.total_weight() as f64;
        sum += c;
        println!("k {k} seed {seed} cut {c:.4} balanced {} {:.2}s", balanced(&g, &p, &limits), t.elapsed().as_secs_f64());
    }
    println!("mean {:.4}", sum / seeds as f64);
}
