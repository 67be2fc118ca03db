//! Servers that lost everything they had: a robot that knows how the fleet was founded says it again.
//!
//! Streams are made anew, and what people wrote down is written again: articles, groups, robots, seeds. What the
//! robots said themselves (plans, leases, logs, URLs under way) they say again by their protocol.

use crate::crawl::warn;
use crate::fleet::articles::Articles;
use crate::fleet::groups::{self, Groups};
use crate::fleet::office::{Member, Office};
use crate::fleet::seed::{Chunk, MARK, Papers};
use anyhow::{Result, anyhow};
use fleet::identity::GroupId;

pub struct Warden<'a> {
    office: &'a Office,
    articles: &'a Articles,
    member: Member,
    groups: Groups,
    seeds: Papers,
    complained: bool,
    /// The robot's group was removed, and that was said.
    outcast: bool,
}

impl<'a> Warden<'a> {
    pub fn new(office: &'a Office, articles: &'a Articles, member: Member) -> Self {
        Self {
            office,
            articles,
            member,
            groups: Groups::default(),
            seeds: Papers::default(),
            complained: false,
            outcast: false,
        }
    }

    /// The groups, as they were last read.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// What was read, or not.
    pub fn hear(&mut self, read: Result<Option<&Papers>>, json: bool) {
        match read {
            Ok(Some(papers)) => self.remember(papers, json),
            Ok(None) => {}
            Err(error) => {
                // the next look may go better
                tracing::debug!(%error, "seeds");
                self.look(json);
            }
        }
    }

    /// What is written down at present.
    fn remember(&mut self, seeds: &Papers, json: bool) {
        if let Ok((_, groups)) = self.office.groups()
            && !groups.groups.is_empty()
        {
            let own = &self.member.group;
            let is_out = groups.named(own).is_err();
            if is_out && !std::mem::replace(&mut self.outcast, is_out) {
                let text = format!(
                    "the group {own} was removed from the fleet: others take over its share, and this robot gets none"
                );
                warn(json, &text);
            }
            self.groups = groups;
            self.seeds = seeds.clone();
        } else {
            self.look(false);
        }
    }

    /// Something could not be read: whether it is lost.
    fn look(&mut self, json: bool) {
        // no answer is no loss
        let lost = match self.office.groups() {
            Ok((_, groups)) => groups.groups.is_empty(),
            Err(error) => error.is::<crate::bad_input::BadInput>(),
        };
        if !lost || self.groups.groups.is_empty() {
            return;
        }
        match self.found_again() {
            Ok(()) => warn(
                json,
                "the NATS servers had lost the fleet; it was created again as it was",
            ),
            Err(error) if !self.complained => {
                self.complained = true;
                let text = format!(
                    "the NATS servers have lost the fleet, and this robot may not create it again ({error}); \
                     run `evercrawl fleet init` with the same configuration"
                );
                warn(json, &text);
            }
            Err(error) => tracing::debug!(%error, "not created again"),
        }
    }

    /// Several robots may do it at once: the first to write a paper wins, and all say the same.
    fn found_again(&self) -> Result<()> {
        let office = self.office;
        let all: Vec<GroupId> = self.groups.groups.iter().map(|g| GroupId(g.id)).collect();
        (office.runtime.block_on(office.nats.init(&all))).map_err(|error| anyhow!("{error}"))?;
        for group in &self.groups.groups {
            groups::found_again(office, GroupId(group.id), group.above.map(GroupId))?;
            groups::charter(office, &self.groups, GroupId(group.id), |_| ())?;
        }
        for (name, chunk) in &self.seeds.chunks {
            self.say(name, &**chunk)?;
        }
        if let Some(through) = &self.seeds.through {
            self.say(MARK, &Chunk::mark(through))?;
        }
        self.say(&Member::paper(&self.member.name), &self.member)?;
        self.say("fleet", self.articles)?;
        // last: this is what others look at
        self.say("groups", &self.groups)
    }

    fn say<T: serde::Serialize>(&self, name: &str, value: &T) -> Result<()> {
        let is_there =
            |office: &Office| matches!(office.read::<serde_json::Value>(name), Ok(Some(_)));
        match self.office.write(name, 0, value) {
            Ok(_) => Ok(()),
            Err(_) if is_there(self.office) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
