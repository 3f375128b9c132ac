import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, test } from '@jest/globals';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/**
 * A `describe` that needs Chromium. Without one on the PATH it is skipped, with the reason in its title. With
 * REQUIRE_CHROMIUM=1, as in CI, it fails instead.
 *
 * @param define gets the path of the program
 */
export function describeWithChromium(title: string, define: (executablePath: string) => void): void {
  const path = chromiumPath();
  if (path !== null) {
    describe(title, () => define(path));
  } else if (process.env['REQUIRE_CHROMIUM'] === '1') {
    test(`${title} (REQUIRE_CHROMIUM=1)`, () => {
      throw new Error('no chromium on PATH');
    });
  } else {
    describe.skip(`${title} (skipped: no chromium on PATH)`, () => define('chromium'));
  }
}

function chromiumPath(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const paths = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
