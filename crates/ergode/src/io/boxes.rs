//! Boxes of arrays in C order.

/// Calls `visit` with the position and the length of every contiguous run of a box.
///
/// The box holds the indices from `start` on, `count` along every axis, of an array of this
/// `shape`; positions count elements of the array. An array without axes has one element.
pub(crate) fn for_each_run<E>(
    shape: &[usize],
    start: &[usize],
    count: &[usize],
    mut visit: impl FnMut(usize, usize) -> Result<(), E>,
) -> Result<(), E> {
    if count.contains(&0) {
        return Ok(());
    }
    // Axes that the box covers whole belong to one run, with the last that it does not.
    let whole = (0..shape.len())
        .rev()
        .take_while(|&axis| count[axis] == shape[axis])
        .count();
    let split = (shape.len() - whole).saturating_sub(1);
    let length: usize = count[split..].iter().product();
    let mut index = vec![0; split];
    loop {
        let position = (0..shape.len()).fold(0, |at, axis| {
            at * shape[axis] + start[axis] + index.get(axis).copied().unwrap_or(0)
        });
        visit(position, length)?;
        let Some(axis) = (0..split).rev().find(|&axis| index[axis] + 1 < count[axis]) else {
            return Ok(());
        };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}

/// An array and the place of a box in it.
pub(crate) struct Place<'a> {
    pub(crate) shape: &'a [usize],
    pub(crate) start: &'a [usize],
}

impl Place<'_> {
    /// The position of the element that is at `index` of the box.
    fn position(&self, index: &[usize]) -> usize {
        (0..self.shape.len()).fold(0, |at, axis| {
            let inside = index.get(axis).copied().unwrap_or(0);
            at * self.shape[axis] + self.start[axis] + inside
        })
    }
}

/// Copies a box of an array to a box of the same size of another; calls `copy` with the positions
/// in both and the length of every run along the last axis.
pub(crate) fn for_each_pair(
    from: &Place<'_>,
    to: &Place<'_>,
    count: &[usize],
    mut copy: impl FnMut(usize, usize, usize),
) {
    if count.contains(&0) {
        return;
    }
    let (&length, outer) = count.split_last().unwrap_or((&1, &[]));
    let mut index = vec![0; outer.len()];
    loop {
        copy(from.position(&index), to.position(&index), length);
        let Some(axis) = (0..outer.len()).rev().find(|&a| index[a] + 1 < outer[a]) else {
            return;
        };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_visit_the_elements_of_a_box_in_order() {
        let shape = [3, 4, 5];
        for (start, count) in [
            ([0, 0, 0], [3, 4, 5]),
            ([1, 0, 0], [2, 4, 5]),
            ([1, 2, 0], [1, 2, 5]),
            ([0, 1, 2], [3, 2, 2]),
            ([2, 3, 4], [1, 1, 1]),
        ] {
            let mut expected = Vec::new();
            for i in 0..count[0] {
                for j in 0..count[1] {
                    for k in 0..count[2] {
                        let at = [start[0] + i, start[1] + j, start[2] + k];
                        expected.push((at[0] * 4 + at[1]) * 5 + at[2]);
                    }
                }
            }
            let mut found = Vec::new();
            for_each_run(&shape, &start, &count, |position, length| {
                found.extend(position..position + length);
                Ok::<(), ()>(())
            })
            .unwrap();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_number_without_axes_is_one_run() {
        let mut runs = Vec::new();
        for_each_run(&[], &[], &[], |position, length| {
            runs.push((position, length));
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(runs, [(0, 1)]);
    }
}
