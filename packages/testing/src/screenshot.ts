import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '..', '..', '..', 'docs');

/** Writes a screenshot for the README, when UPDATE_SCREENSHOTS=1. @throws Error when `docs` lacks it */
export function keepScreenshot(name: string, png: Buffer): void {
  const file = join(DOCS, name);
  if (process.env['UPDATE_SCREENSHOTS'] === '1') writeFileSync(file, png);
  if (!existsSync(file)) throw new Error(`docs lacks ${name}: run the test with UPDATE_SCREENSHOTS=1`);
}
