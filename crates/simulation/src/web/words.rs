//! Made-up text: what pages say, in the letters of their character sets.

use super::spec::Charset;
use crate::run::derive;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const ENGLISH: [&str; 48] = [
    "river", "harbour", "winter", "market", "garden", "letter", "window", "bridge", "village",
    "engine", "paper", "council", "weather", "station", "island", "history", "music", "school",
    "forest", "kitchen", "museum", "railway", "summer", "captain", "doctor", "painter", "opens",
    "closes", "returns", "reports", "builds", "finds", "keeps", "follows", "early", "quiet",
    "narrow", "famous", "northern", "ancient", "the", "of", "and", "with", "under", "after",
    "before", "without",
];

const RUSSIAN: [&str; 24] = [
    "река",
    "город",
    "зима",
    "рынок",
    "письмо",
    "окно",
    "мост",
    "деревня",
    "музыка",
    "школа",
    "лес",
    "музей",
    "лето",
    "врач",
    "остров",
    "история",
    "открывает",
    "находит",
    "строит",
    "тихий",
    "древний",
    "северный",
    "после",
    "без",
];

const JAPANESE: [&str; 24] = [
    "川",
    "港",
    "冬",
    "市場",
    "庭",
    "手紙",
    "窓",
    "橋",
    "村",
    "機械",
    "天気",
    "駅",
    "島",
    "歴史",
    "音楽",
    "学校",
    "森",
    "台所",
    "博物館",
    "夏",
    "医者",
    "静か",
    "古い",
    "北の",
];

/// The path of page `number` of a host.
pub(super) fn path(seed: u64, number: usize, forbidden: bool) -> String {
    if number == 0 {
        return "/".to_owned();
    }
    let word = |part: u64| ENGLISH[derive(seed, part) as usize % 26];
    let section = if forbidden { "private" } else { word(1) };
    format!("/{section}/{}-{}-{number}.html", word(2), word(3))
}

/// A sentence or so of `bytes` bytes in all, roughly.
pub(super) fn paragraph(seed: u64, charset: Charset, bytes: usize) -> String {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (list, gap, stop): (&[&str], _, _) = match charset {
        Charset::Utf8 | Charset::Utf16 => (&ENGLISH, " ", ". "),
        Charset::Windows1251 => (&RUSSIAN, " ", ". "),
        Charset::ShiftJis => (&JAPANESE, "", "。"),
    };
    let mut text = String::with_capacity(bytes + 32);
    let mut left_in_sentence = 0;
    while text.len() < bytes {
        let word = list[rng.random_range(0..list.len())];
        if left_in_sentence == 0 {
            if !text.is_empty() {
                text.push_str(stop);
            }
            left_in_sentence = rng.random_range(6..20u32);
            let mut letters = word.chars();
            text.extend(letters.next().into_iter().flat_map(char::to_uppercase));
            text.push_str(letters.as_str());
        } else {
            text.push_str(gap);
            text.push_str(word);
        }
        left_in_sentence -= 1;
    }
    text.push_str(stop.trim_end());
    text
}

/// A title of three words.
pub(super) fn title(seed: u64, charset: Charset) -> String {
    let text = paragraph(derive(seed, 4), charset, 18);
    text.trim_end_matches(['.', '。']).to_owned()
}
