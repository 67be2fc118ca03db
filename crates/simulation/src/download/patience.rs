//! Waiting for work that cannot be asked to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How soon a request to stop is noticed.
const GLANCE: Duration = Duration::from_millis(100);

/// What `work` comes to, or `None` as soon as `stop` is set: the thread that does the work is then
/// left alone, and ends with the process or when it is done.
pub fn unless_stopped<T: Send + 'static>(
    stop: &AtomicBool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = channel();
    let worker = std::thread::spawn(move || {
        // nobody waits any more: nobody misses it
        let _ = sender.send(work());
    });
    while !stop.load(Ordering::Relaxed) {
        match receiver.recv_timeout(GLANCE) {
            Ok(answer) => return Some(answer),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return None,
            },
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_answer_is_that_of_the_work() {
        let stop = AtomicBool::new(false);
        assert_eq!(unless_stopped(&stop, || 6 * 7), Some(42));
    }

    #[test]
    fn a_wish_to_stop_does_not_wait_for_the_work() {
        let stop = AtomicBool::new(false);
        let begun = Instant::now();
        let answer = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                stop.store(true, Ordering::Relaxed);
            });
            unless_stopped(&stop, || std::thread::sleep(Duration::from_secs(20)))
        });
        assert_eq!(answer, None);
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    #[should_panic(expected = "broken work")]
    fn a_panic_of_the_work_is_ours() {
        unless_stopped(&AtomicBool::new(false), || panic!("broken work"));
    }
}
