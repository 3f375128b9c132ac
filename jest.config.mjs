/** One Jest for every test in the repository; `npm test` runs it after the static checks. */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/{apps,packages,e2e,bench,scripts}/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2022', parser: { syntax: 'typescript', decorators: false } },
        module: { type: 'es6' },
      },
    ],
  },
  modulePathIgnorePatterns: ['/dist/', '/.data/', '/.node/'],
  globalSetup: '<rootDir>/scripts/jest/global-setup.ts',
  globalTeardown: '<rootDir>/scripts/jest/global-teardown.ts',
  testTimeout: 30_000,
  maxWorkers: 2,
};
