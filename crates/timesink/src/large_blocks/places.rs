//! Which parts of a file are free: plain numbers, nothing is done to the file.

/// A part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub offset: usize,
    pub length: usize,
}

impl Place {
    fn end(self) -> usize {
        self.offset + self.length
    }
}

/// The free places of a file that grows as it has to.
#[derive(Debug)]
pub struct Places {
    /// Where the file ends.
    end: usize,
    /// In the order of the file; none touches the next.
    free: Vec<Place>,
}

impl Places {
    pub const fn new() -> Places {
        Places {
            end: 0,
            free: Vec::new(),
        }
    }

    pub fn end(&self) -> usize {
        self.end
    }

    /// The smallest free place that is long enough, or one at the end of the file, which grows by as much as that takes.
    pub fn take(&mut self, length: usize) -> Option<Place> {
        let fitting = self.free.iter().filter(|place| place.length >= length);
        let smallest = fitting.min_by_key(|place| (place.length, place.offset));
        let last = self.free.last().filter(|place| place.end() == self.end);
        let place = smallest.or(last);
        self.take_at(place.map_or(self.end, |place| place.offset), length)
    }

    /// This place, if it is free or the file can grow by it.
    pub fn take_at(&mut self, offset: usize, length: usize) -> Option<Place> {
        let end = offset.checked_add(length)?;
        let found = self
            .free
            .binary_search_by_key(&offset, |place| place.offset);
        let here = found.ok().map(|at| (at, self.free[at]));
        let (free_end, is_last) = match here {
            Some((_, place)) => (place.end(), place.end() == self.end),
            None => (offset, offset == self.end),
        };
        if free_end < end && !is_last {
            return None;
        }
        if let Some((at, _)) = here {
            match free_end > end {
                true => {
                    self.free[at] = Place {
                        offset: end,
                        length: free_end - end,
                    }
                }
                false => drop(self.free.remove(at)),
            }
        }
        self.end = self.end.max(end);
        Some(Place { offset, length })
    }

    /// Gives a place back.
    pub fn give(&mut self, place: Place) {
        let at = self.free.partition_point(|free| free.offset < place.offset);
        self.free.insert(at, place);
        self.join(at);
        if let Some(before) = at.checked_sub(1) {
            self.join(before);
        }
    }

    /// Gives back one that the file could not grow by: it ends where it did before.
    pub fn give_end_back(&mut self, place: Place, end: usize) {
        self.end = end;
        let left = end.saturating_sub(place.offset).min(place.length);
        if left > 0 {
            self.give(Place {
                offset: place.offset,
                length: left,
            });
        }
    }

    /// Makes one of the place and the next, if they touch.
    fn join(&mut self, at: usize) {
        let (here, next) = (self.free[at], self.free.get(at + 1).copied());
        if let Some(next) = next.filter(|next| here.end() == next.offset) {
            self.free[at].length += next.length;
            self.free.remove(at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(offset: usize, length: usize) -> Place {
        Place { offset, length }
    }

    /// A freed place goes to the next block that fits, the smallest such place first; neighbours become one.
    #[test]
    fn a_freed_place_is_used_again() {
        let mut places = Places::new();
        for length in [10, 20, 30, 40] {
            places.take(length).expect("the file grows");
        }
        assert_eq!(places.end(), 100);
        places.give(place(30, 30));
        places.give(place(0, 10));
        assert_eq!(places.take(8), Some(place(0, 8)));
        assert_eq!(places.take(25), Some(place(30, 25)));
        places.give(place(10, 20));
        assert_eq!(places.take(21), Some(place(8, 21)));
        assert_eq!(places.end(), 100);
    }

    /// What is free at the end of the file is used before it grows.
    #[test]
    fn the_file_grows_by_what_is_missing() {
        let mut places = Places::new();
        places.take(50).expect("the file grows");
        places.give(place(20, 30));
        assert_eq!(places.take(40), Some(place(20, 40)));
        assert_eq!(places.end(), 60);
    }

    /// A block grows into what is free behind it, or into the end of the file, but not into another one.
    #[test]
    fn a_block_grows_where_it_is() {
        let mut places = Places::new();
        places.take(10).expect("the file grows");
        places.take(10).expect("the file grows");
        assert_eq!(places.take_at(10, 5), None);
        assert_eq!(places.take_at(20, 5), Some(place(20, 5)));
        places.give(place(10, 15));
        assert_eq!(places.take_at(10, 40), Some(place(10, 40)));
        assert_eq!(places.end(), 50);
        assert_eq!(places.take_at(50, usize::MAX), None);
    }

    /// A file that cannot grow has what it had before.
    #[test]
    fn a_file_that_cannot_grow_is_as_it_was() {
        let mut places = Places::new();
        places.take(10).expect("the file grows");
        places.give(place(4, 6));
        let end = places.end();
        let refused = places.take(9).expect("a place at the end");
        assert_eq!((refused, places.end()), (place(4, 9), 13));
        places.give_end_back(refused, end);
        assert_eq!(places.end(), 10);
        assert_eq!(places.take(6), Some(place(4, 6)));
    }
}
