//! The demo web over real sockets.
