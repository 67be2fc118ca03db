//! How much the heuristics cover, and how often two of them agree.

use super::{Heuristic, Place};
use serde::Serialize;

/// Two answers nearer than this mean the same city.
const SAME_CITY_KM: f64 = 50.0;

/// How many subjects a heuristic has an answer for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Which.
    pub heuristic: Heuristic,
    /// Subjects with an answer.
    pub answers: usize,
    /// As a share of all subjects.
    pub share: f64,
}

/// How well two heuristics agree where both answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// One.
    pub first: Heuristic,
    /// The other.
    pub second: Heuristic,
    /// Subjects that have both answers.
    pub overlap: usize,
    /// Of those, how many are in the same city.
    pub coincidences: usize,
    /// Of those that both name a country, how many name the same.
    pub same_country: usize,
    /// The mean distance between the answers.
    pub mean_km: f64,
}

fn answer(places: &[Place], heuristic: Heuristic) -> Option<&Place> {
    places.iter().find(|place| place.heuristic == heuristic)
}

/// The share of subjects, each given by all that is said about it, that each heuristic covers.
pub fn coverage(subjects: &[Vec<Place>]) -> Vec<Coverage> {
    let of = |heuristic| {
        let answers = subjects.iter().filter(|s| answer(s, heuristic).is_some());
        let answers = answers.count();
        Coverage {
            heuristic,
            answers,
            share: answers as f64 / subjects.len().max(1) as f64,
        }
    };
    Heuristic::ALL.map(of).to_vec()
}

/// The agreement of each two heuristics that have subjects in common.
pub fn agreement(subjects: &[Vec<Place>]) -> Vec<Agreement> {
    let mut table = Vec::new();
    for (k, &first) in Heuristic::ALL.iter().enumerate() {
        for &second in &Heuristic::ALL[k + 1..] {
            let both: Vec<(&Place, &Place)> = subjects
                .iter()
                .filter_map(|places| Some((answer(places, first)?, answer(places, second)?)))
                .collect();
            let distances: Vec<f64> = (both.iter())
                .map(|(a, b)| a.point.kilometres_to(b.point))
                .collect();
            let same_country =
                |(a, b): &&(&Place, &Place)| a.country.is_some() && a.country == b.country;
            if distances.is_empty() {
                continue;
            }
            table.push(Agreement {
                first,
                second,
                overlap: distances.len(),
                coincidences: distances.iter().filter(|&&km| km <= SAME_CITY_KM).count(),
                same_country: both.iter().filter(same_country).count(),
                mean_km: distances.iter().sum::<f64>() / distances.len() as f64,
            });
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::Point;

    fn place(heuristic: Heuristic, latitude: f64, longitude: f64) -> Place {
        Place {
            heuristic,
            point: Point::new(latitude, longitude).unwrap(),
            city: None,
            country: None,
        }
    }

    #[test]
    fn overlaps_coincidences_and_distances() {
        let subjects = [
            vec![
                place(Heuristic::Airport, 50.0, 8.0),
                place(Heuristic::Database, 50.1, 8.1),
            ],
            vec![
                place(Heuristic::Airport, 0.0, 0.0),
                place(Heuristic::Database, 0.0, 10.0),
            ],
            vec![place(Heuristic::Database, 1.0, 1.0)],
            vec![],
        ];
        let covered = coverage(&subjects);
        let share = |wanted| {
            covered
                .iter()
                .find(|c| c.heuristic == wanted)
                .unwrap()
                .share
        };
        assert_eq!(share(Heuristic::Airport), 0.5);
        assert_eq!(share(Heuristic::Database), 0.75);
        assert_eq!(share(Heuristic::Loc), 0.0);
        let table = agreement(&subjects);
        assert_eq!(table.len(), 1);
        assert_eq!((table[0].overlap, table[0].coincidences), (2, 1));
        assert!(
            (table[0].mean_km - 563.0).abs() < 2.0,
            "{}",
            table[0].mean_km
        );
    }
}
