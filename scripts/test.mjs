import { join } from 'node:path';
import { bootstrap } from './bootstrap.mjs';
import { buildIfStale } from './build.mjs';
import { trackedFiles } from './setup-command.mjs';
import { printResultOf } from './test-run.mjs';
import { ROOT } from './workspace.mjs';

const MODULES = join(ROOT, 'node_modules');

/** The static checks, each as a name and the arguments of node. */
const STATIC_CHECKS = [
  ['types and lint', join(MODULES, 'oxlint/bin/oxlint')],
  [
    'dependencies',
    join(MODULES, 'dependency-cruiser/bin/dependency-cruiser.mjs'),
    ...['--config', '.dependency-cruiser.cjs', 'apps', 'packages', 'e2e', 'bench'],
  ],
  ['unused', join(MODULES, 'knip/bin/knip.js')],
  ['prose', join(ROOT, 'scripts/check-prose.mjs')],
  ['generated', join(ROOT, 'scripts/check-generated.mjs')],
  ['format', join(MODULES, 'oxfmt/bin/oxfmt'), '--check'],
];

/** Patterns of the test files that have a long version. */
const LONG_TESTS = [
  ...['fuzz', 'property', 'drawn', 'bounds', 'plans', 'message-lists', 'scale', 'e2e'],
  ...['cause-and-event', 'guarded-agent', 'hostile', 'docs/patterns', 'author-domains'],
  ...['sns/verify-signature', 'ses/read-notification', 'ses/received-mail', 'hosts-met-once'],
];

/**
 * `npm test`: the build, then every test and beside them every static check. `npm test -- ARGS` runs Jest alone, with
 * these arguments. `--long` as the first argument runs the long versions of the tests that have one.
 * `--check` runs the static checks alone.
 */
await printResultOf(async (run) => {
  const [first, ...rest] = process.argv.slice(2);
  await bootstrap();
  // The checks need git. Without a clone, this throws before the build begins.
  if (first === undefined || first === '--check') trackedFiles();
  await buildIfStale();
  if (first === undefined) return run.testAndCheck(jest([]), STATIC_CHECKS);
  if (first === '--check') return run.check(STATIC_CHECKS);
  if (first !== '--long') return run.test(jest([first, ...rest]));
  process.env.TEST_LONG = '1';
  return run.test(jest(rest.length > 0 ? rest : LONG_TESTS));
});

function jest(args) {
  // V8's compilation cache keeps every module of vm and never uses it again. With the cache, a worker of Jest
  // grows by 6 MB for each test file.
  const node = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    '--no-compilation-cache',
  ];
  const ci = process.env.CI === 'true' ? ['--ci'] : [];
  return [...node, join(MODULES, 'jest/bin/jest.js'), ...ci, ...args];
}
