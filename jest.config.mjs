/** One Jest for every test in the repository. `npm test` runs it beside the static checks. */
export default {
  testEnvironment: '<rootDir>/scripts/jest/environment.cjs',
  runtime: '<rootDir>/scripts/jest/runtime.cjs',
  injectGlobals: false, // every test imports from @jest/globals
  // No glob or pattern contains the path of the checkout: a `[`, `!` or `dist` in it would hide all tests.
  roots: ['apps', 'packages', 'e2e', 'bench', 'scripts'].map((folder) => `<rootDir>/${folder}`),
  testRegex: '\\.test\\.ts$',
  testSequencer: '<rootDir>/scripts/jest/slowest-first.cjs',
  reporters: ['default', '<rootDir>/scripts/jest/summary.cjs'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2024', parser: { syntax: 'typescript', decorators: false } },
        module: { type: 'es6' },
      },
    ],
  },
  globalSetup: '<rootDir>/scripts/jest/global-setup.ts',
  globalTeardown: '<rootDir>/scripts/jest/global-teardown.ts',
  testTimeout: process.env.TEST_LONG === '1' ? 600_000 : 120_000, // a busy machine is slow, not wrong
  maxWorkers: 5, // many files wait for processes and timers, so two cores serve five
  workerIdleMemoryLimit: '450MB', // of heap: a worker above it is replaced before its next file
  workerGracefulExitTimeout: 10_000, // ending a process with a large heap takes over half a second
};
