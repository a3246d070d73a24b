//! The scenery of pictures: people, faces, houses, hills.

use crate::canvas::{BLACK, Canvas, Rgb, WHITE, area, mix};
use crate::painter::Painter;

pub const SKIN: [Rgb; 5] = [
    [250, 214, 180],
    [228, 180, 140],
    [190, 135, 95],
    [130, 85, 60],
    [92, 58, 42],
];

pub const CLOTHES: [Rgb; 7] = [
    [60, 80, 120],
    [150, 50, 50],
    [70, 110, 80],
    [90, 90, 100],
    [190, 150, 60],
    [110, 70, 120],
    [40, 44, 52],
];

impl Painter<'_> {
    /// Head and shoulders of a person in a crowd, with the centre of the head at (x, y) and its radius `r`.
    pub fn person(&mut self, c: &mut Canvas, x: f32, y: f32, r: f32) {
        let clothes = self.random.pick(&CLOTHES);
        let skin = self.random.pick(&SKIN);
        let hair = self
            .random
            .pick(&[[50, 34, 24], [120, 80, 40], [30, 28, 28], [170, 165, 160]]);
        c.oval(area(x - 1.7 * r, y + 0.9 * r, 3.4 * r, 5.0 * r), clothes);
        c.disc(x, y - 0.15 * r, r * 1.08, hair);
        c.disc(x, y + 0.15 * r, r * 0.92, skin);
    }

    /// A row of houses that stand at height `ground`.
    pub fn houses(&mut self, c: &mut Canvas, ground: f32) {
        let mut x = -20.0;
        while x < c.width() {
            let width = 60.0 + 80.0 * self.random.fraction();
            let height = ground * (0.25 + 0.4 * self.random.fraction());
            let wall = self.random.pick(&[
                [170, 150, 135],
                [190, 175, 150],
                [150, 150, 160],
                [175, 130, 115],
            ]);
            c.rect(area(x, ground - height, width, height), wall);
            let window = mix(wall, [60, 70, 90], 0.6);
            for row in 0..(height / 34.0) as usize {
                for column in 0..(width / 26.0) as usize {
                    let (wx, wy) = (
                        x + 8.0 + column as f32 * 26.0,
                        ground - height + 10.0 + row as f32 * 34.0,
                    );
                    c.rect(area(wx, wy, 12.0, 18.0), window);
                }
            }
            x += width + 2.0;
        }
    }

    /// A face that is content, cross or astonished, with its centre at (x, y) and its radius `r`.
    pub fn face(&mut self, c: &mut Canvas, x: f32, y: f32, r: f32) {
        let skin = self.random.pick(&SKIN);
        let clothes = self.random.pick(&CLOTHES);
        c.oval(area(x - 1.6 * r, y + 0.9 * r, 3.2 * r, 3.0 * r), clothes);
        c.disc(x, y, r * 1.04, BLACK);
        c.disc(x, y, r, skin);
        for side in [-1.0, 1.0] {
            c.disc(x + side * 0.36 * r, y - 0.15 * r, 0.16 * r, WHITE);
            c.disc(x + side * 0.33 * r, y - 0.13 * r, 0.08 * r, BLACK);
        }
        let mouth = match self.random.below(3) {
            0 => [(-0.4, 0.4), (-0.2, 0.52), (0.2, 0.52), (0.4, 0.4)],
            1 => [(-0.4, 0.55), (-0.2, 0.42), (0.2, 0.42), (0.4, 0.55)],
            _ => [(-0.1, 0.4), (0.1, 0.4), (0.1, 0.6), (-0.1, 0.6)],
        };
        let mouth: Vec<_> = mouth
            .iter()
            .map(|&(mx, my)| (x + mx * r, y + my * r))
            .collect();
        c.lines(&mouth, [90, 20, 20], 0.09 * r);
    }

    /// A landscape over the whole canvas: sky, sun, three ranges of hills, and some trees.
    pub fn scene(&mut self, c: &mut Canvas) {
        let (w, h) = (c.width(), c.height());
        let (above, below): (Rgb, Rgb) = self.random.pick(&[
            ([70, 130, 200], [200, 225, 245]),
            ([60, 50, 100], [245, 160, 90]),
            ([130, 140, 150], [215, 215, 210]),
            ([20, 30, 70], [90, 100, 150]),
        ]);
        c.sky(c.whole(), above, below, 14);
        let sun = (
            self.random.fraction() * w,
            h * (0.12 + 0.3 * self.random.fraction()),
        );
        c.disc(sun.0, sun.1, h * 0.06, mix(below, [255, 245, 200], 0.8));
        let hill = self
            .random
            .pick(&[[60, 110, 60], [110, 95, 60], [70, 90, 110], [140, 110, 70]]);
        for range in 0..3usize {
            let depth = range as f32 / 3.0;
            let mut ridge = vec![(0.0, h)];
            let mut y = h * (0.45 + 0.17 * range as f32);
            for step in 0..=12usize {
                ridge.push((w * step as f32 / 12.0, y));
                y += h * 0.06 * self.random.signed_fraction();
            }
            ridge.push((w, h));
            c.polygon(
                &ridge,
                mix(mix(hill, below, 0.55), mix(hill, BLACK, 0.2), depth),
            );
        }
        for _ in 0..self.random.below(7) {
            let (x, y) = (
                self.random.fraction() * w,
                h * (0.86 + 0.1 * self.random.fraction()),
            );
            let tall = h * 0.13;
            c.rect(area(x - 3.0, y - tall * 0.3, 6.0, tall * 0.3), [80, 55, 35]);
            c.polygon(
                &[
                    (x - tall * 0.25, y - tall * 0.25),
                    (x + tall * 0.25, y - tall * 0.25),
                    (x, y - tall),
                ],
                mix(hill, BLACK, 0.45),
            );
        }
    }
}
