use super::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[test]
fn agrees_with_a_sorted_list_whatever_is_done_to_it() {
    let server = ServerId(0);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for size in [0, 1, 2, 7, 8, 9, 17, 100] {
        let due = |rng: &mut Xoshiro256PlusPlus, page| Due {
            // equal times are not rare
            at: (f64::from(page) * 0.1 + 30.0 * rng.random::<f64>()).round(),
            page: PageId(page),
            period: 0.0,
        };
        let mut list: Vec<Due> = (0..size).map(|page| due(&mut rng, page)).collect();
        let mut queues = DueQueues::new(&[0.0]);
        queues.fill(vec![list.clone()]);
        for next_page in size..size + 2000 {
            list.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.page.cmp(&b.page)));
            assert_eq!(queues.first().map(|(due, ..)| due), list.first().copied());
            assert_eq!(
                queues.servers().map(<[Due]>::len).sum::<usize>(),
                list.len()
            );
            match rng.random_range(0..7) {
                0 if !list.is_empty() => {
                    queues.visited(server, 0.0, None);
                    list.remove(0);
                }
                1 | 2 if !list.is_empty() => {
                    let page = list[0].page;
                    list[0] = due(&mut rng, next_page);
                    list[0].page = if rng.random() { page } else { list[0].page };
                    queues.visited(server, 0.0, Some(list[0]));
                }
                3 if !list.is_empty() => {
                    let gone = list.swap_remove(rng.random_range(0..list.len()));
                    assert_eq!(queues.remove(server, gone.page), Some(gone));
                    assert_eq!(queues.remove(server, gone.page), None);
                }
                4 if !list.is_empty() => {
                    let k = rng.random_range(0..list.len());
                    list[k].at = due(&mut rng, next_page).at;
                    queues.push(server, list[k]);
                }
                _ => {
                    list.push(due(&mut rng, next_page));
                    queues.push(server, list[list.len() - 1]);
                }
            }
        }
    }
}
