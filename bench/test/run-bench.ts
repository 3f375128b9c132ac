import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { DIST, runNode } from '@postrider/testing';
import { readResult } from '../src/publish.ts';
import type { FigureResult } from '../src/result/result.ts';

/** Runs the tool from its bundle. */
export const runBench = (...args: string[]) => runNode([join(DIST, 'bench.js'), ...args]);

/** Registers hooks: a folder for the results of each test. */
export function setupResults() {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'postrider-bench-out-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  return {
    /** @returns the path of a result, or of the folder itself */
    path: (...names: string[]) => join(folder, ...names),
    /** Measures with small sizes. @param only the figures, separated by commas @returns what was measured */
    async measure(only: string): Promise<readonly FigureResult[]> {
      const { stderr } = await runBench('--quick', '--only', only, '--out', folder);
      expect(stderr).toBe('');
      return readResult(join(folder, 'benchmark', 'result.json')).figures;
    },
  };
}
