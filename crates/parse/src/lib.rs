//! What a downloaded page says: links, text, character set, sitemaps, feeds. Pure.
//!
//! [`kind_of`] tells which of [`read_page`], [`read_sitemap`], [`read_feed`] and [`read_text`] is
//! meant for a body. All of them take any bytes, never fail, take time linear in the body and say
//! what they left out. A body arrives decoded as to transfer and content encoding.
#![doc = include_str!("../README.md")]

pub mod change;
pub mod charset;
mod css;
pub mod dates;
pub mod feed;
pub mod html;
pub mod kind;
pub mod print;
pub mod sitemap;
mod xml;

pub use feed::{Feed, FeedEntry, read_feed};
pub use html::{
    Limits, Link, LinkKind, PageContent, Refresh, Requisites, read_page, read_page_within,
    read_requisites, read_stylesheet, show_page,
};
pub use kind::{Kind, kind_of};
pub use print::{PageText, Sameness, Shown, TextPrint, read_text, show_text, text_of};
pub use sitemap::{Sitemap, SitemapEntry, SitemapKind, read_sitemap};
