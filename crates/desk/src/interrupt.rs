//! Ctrl-C asks to stop: long work checks a flag and ends with what it has.

use crate::new_file;
use std::fmt;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code that shells give to a process ended by Ctrl-C.
pub const EXIT_CODE: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);
static HANDLER: Once = Once::new();

/// The flag that the first Ctrl-C sets; the second ends the process at once.
pub fn stop_on_interrupt() -> &'static AtomicBool {
    HANDLER.call_once(|| {
        // without a handler Ctrl-C ends the process, which is what it does anyway
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                new_file::remove_pending();
                std::process::exit(i32::from(EXIT_CODE));
            }
        });
    });
    &STOP
}

/// The work ended early because the user wished so; what there was to say has been said.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}
