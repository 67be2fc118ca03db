//! The shape of a week: hours and days at which life goes faster or slower.

use super::{ProcessError, not_negative, positive};

const HOURS: usize = 7 * 24;

/// A clock that runs fast at busy hours and slow at quiet ones, and keeps time over the week.
#[derive(Clone, Debug, PartialEq)]
pub struct Week {
    /// The length of a day in the caller's unit of time.
    day: f64,
    /// How much of a week, in `[0, 1]`, is lived before each hour of it, and at its end.
    lived: Box<[f64]>,
}

impl Week {
    /// The speed of life at an hour of a day is `hours[hour]·days[day]`, up to a common factor that
    /// makes the week's mean one. Instant zero is the first hour of the first day; `day` is the
    /// length of a day in the caller's unit of time.
    pub fn new(day: f64, hours: &[f64; 24], days: &[f64; 7]) -> Result<Self, ProcessError> {
        let day = positive("length of a day", day)?;
        let mut lived = vec![0.0];
        let mut sum = 0.0;
        for &of_day in days {
            for &of_hour in hours {
                sum += not_negative("speed", of_day)? * not_negative("speed", of_hour)?;
                lived.push(sum);
            }
        }
        if sum == 0.0 || !sum.is_finite() {
            return Err(ProcessError::Empty("the week"));
        }
        for share in &mut lived {
            *share /= sum;
        }
        Ok(Self {
            day,
            lived: lived.into(),
        })
    }

    /// Working hours of working days: eight times as fast as nights and weekends.
    pub fn office(day: f64) -> Result<Self, ProcessError> {
        let mut hours = [0.125; 24];
        hours[8..18].fill(1.0);
        Self::new(day, &hours, &[1.0, 1.0, 1.0, 1.0, 1.0, 0.125, 0.125])
    }

    fn length(&self) -> f64 {
        7.0 * self.day
    }

    /// How much time is lived up to an instant: ascends, and agrees with the instant at the ends
    /// of weeks.
    pub fn lived(&self, instant: f64) -> f64 {
        let weeks = instant / self.length();
        let hours = (weeks - weeks.floor()) * HOURS as f64;
        let hour = (hours as usize).min(HOURS - 1);
        let into = hours - hour as f64;
        let share = self.lived[hour] + into * (self.lived[hour + 1] - self.lived[hour]);
        (weeks.floor() + share) * self.length()
    }

    /// The instant by which so much time is lived: the inverse of [`lived`](Self::lived).
    pub fn instant(&self, lived: f64) -> f64 {
        let weeks = lived / self.length();
        let share = weeks - weeks.floor();
        // the last hour that begins at or before, and so one in which time passes
        let hour = self.lived[..HOURS].partition_point(|&l| l <= share) - 1;
        let speed = self.lived[hour + 1] - self.lived[hour];
        let into = if speed > 0.0 {
            ((share - self.lived[hour]) / speed).min(1.0)
        } else {
            0.0
        };
        (weeks.floor() + (hour as f64 + into) / HOURS as f64) * self.length()
    }
}
