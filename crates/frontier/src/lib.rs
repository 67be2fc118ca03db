//! One robot's share of the Web: URLs and their keys, scope, robots.txt, politeness, what is to be fetched next. Pure: no clock, no I/O.
