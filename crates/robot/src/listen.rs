//! Listeners that outlive trouble: out of descriptors they wait, callers who say nothing are sent
//! away, and those beyond a number wait outside.

use std::io::Result;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Callers served at a time.
const MOST: usize = 32;
/// A question must be there by then.
pub(crate) const READING: Duration = Duration::from_secs(2);
/// An answer must be gone by then.
const PATIENCE: Duration = Duration::from_secs(10);
/// After a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves whoever is let in by `accept`, for ever.
pub(crate) async fn serve<Caller, Answering>(
    mut accept: impl FnMut(&mut Context<'_>) -> Poll<Result<Caller>>,
    answer: impl Fn(Caller) -> Answering,
) where
    Answering: Future<Output = Result<()>> + Send + 'static,
{
    let seats = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(seat) = seats.clone().acquire_owned().await else {
            return;
        };
        match std::future::poll_fn(&mut accept).await {
            Ok(caller) => {
                let answering = answer(caller);
                tokio::spawn(async move {
                    // whoever called may have gone
                    let _ = tokio::time::timeout(PATIENCE, answering).await;
                    drop(seat);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
