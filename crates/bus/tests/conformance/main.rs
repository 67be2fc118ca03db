//! What a bus promises, of the model and of real servers, which the tests start and end.

mod faults;
mod leaf;
mod rig;
mod security;
mod servers;
mod suite;

use bus::memory::Memory;
use bus::names::Names;

use rig::{Model, Real, layout, limited};
use servers::Cluster;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_conforms() {
    let names = Names::new("web").expect("a good name");
    let rig = Model(Memory::new(names, layout(1)));
    limited(120, suite::all(&rig)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_conforms() {
    let Some(cluster) = Cluster::start(1).await else {
        return;
    };
    let rig = Real::new(&cluster, layout(1)).await;
    limited(150, suite::all(&rig)).await;
    rig.is_checked().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_servers_conform() {
    let Some(cluster) = Cluster::start(3).await else {
        return;
    };
    let rig = Real::new(&cluster, layout(3)).await;
    limited(180, suite::all(&rig)).await;
}
