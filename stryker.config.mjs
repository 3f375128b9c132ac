import { join } from 'node:path';

/** What `npm run mutation` does; docs/mutation-testing.md says how to read its report. */
export default {
  mutate: ['packages/domain/src/**/*.ts', '!**/*.test.ts'],
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  plugins: ['@stryker-mutator/jest-runner'],
  jest: {
    configFile: 'jest.config.mjs',
    // The domain needs no servers.
    config: {
      roots: ['<rootDir>/packages/domain/src'],
      globalSetup: null,
      globalTeardown: null,
      // Stryker extends this class, and does not know <rootDir>.
      testEnvironment: join(import.meta.dirname, 'scripts/jest/environment.cjs'),
    },
  },
  // Each mutant meets the tests that cover its line; a mutant of a constant, those that import its module.
  coverageAnalysis: 'perTest',
  // Everything happens in a copy of these files; node_modules are linked into it.
  ignorePatterns: [
    '**',
    '!package.json',
    '!jest.config.mjs',
    '!scripts/jest/*.cjs',
    '!docs/*.md',
    '!packages/domain/package.json',
    '!packages/domain/src/**',
  ],
  tempDirName: 'coverage/mutation/sandbox',
  cleanTempDir: 'always',
  concurrency: 2,
  timeoutMS: 30_000, // a mutant that takes longer counts as killed: long, because the machine may be busy
  maxTestRunnerReuse: 50, // an ES module that Jest has loaded is never freed
  incrementalFile: 'coverage/mutation/incremental.json',
  reporters: ['clear-text', 'progress', 'html'],
  clearTextReporter: { logTests: false, reportTests: false },
  htmlReporter: { fileName: 'coverage/mutation/report.html' },
  warnings: { slow: false }, // constants are tested too: most of the time goes there, and it is well spent
  thresholds: { high: 95, low: 90, break: 85 },
};
