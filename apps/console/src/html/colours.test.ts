import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const [light = '', dark = ''] = readFileSync(
  join(import.meta.dirname, '../console-assets/style.css'),
  'utf8',
).split('prefers-color-scheme: dark');

/** The red, green and blue of a token, from 0 to 255. */
function colour(scheme: string, token: string): number[] {
  const [, hex = ''] = new RegExp(`--${token}: #(\\w{6});`).exec(scheme) ?? [];
  return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}

/** The contrast of WCAG 2.2, from 1 to 21. */
function contrast(one: readonly number[], other: readonly number[]): number {
  const luminance = (channels: readonly number[]) =>
    channels
      .map((channel) => channel / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, at) => sum + part * ([0.2126, 0.7152, 0.0722][at] ?? 0), 0);
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

describe.each([
  ['light', light],
  ['dark', dark],
])('shapes in %s colours have a contrast of 3:1', (_, scheme) => {
  const of = (token: string) => colour(scheme, token);

  test.each(['good-fill', 'wait-fill', 'bad-fill', 'edge'])('%s on a card', (token) => {
    expect(contrast(of(token), of('card'))).toBeGreaterThanOrEqual(3);
  });

  test.each(['good', 'wait', 'bad'])('the fill of %s on its wash', (name) => {
    expect(contrast(of(`${name}-fill`), of(`${name}-wash`))).toBeGreaterThanOrEqual(3);
  });

  test('failures beside successes in a plot, which are 32 % of the soft colour', () => {
    const [soft, card] = [of('soft'), of('card')];
    const successes = soft.map((channel, at) => 0.32 * channel + 0.68 * (card[at] ?? 0));
    expect(contrast(of('bad-fill'), successes)).toBeGreaterThanOrEqual(3);
  });
});
