//! The Internet as seen from here: probes, routes, places.
