const { join } = require('node:path');

/*
 * The layers of the repository. scripts/layering.test.ts plants a fault that each rule must find.
 *
 * Under pnpm a package lies at node_modules/.pnpm/NAME@VERSION/node_modules/NAME: patterns ask for
 * `(^|/)node_modules/NAME/`, since one anchored at the start would never match.
 */
const npm = (...names) => `(^|/)node_modules/(@types/)?(${names.join('|')})(/|$)`;

const TESTS = '[.]test[.]ts$';
/** Programs for customers. Tests run them, and the published package contains them. */
const EXAMPLES = '^packages/receiver/examples/';
const TEST_CODE = [TESTS, EXAMPLES, '^(apps|packages)/[^/]+/test/', '^packages/testing/', '^e2e/', '^bench/'];

/** Only files in `allowed` import these packages of npm. The rule binds tests and benchmarks, too. */
const onlyIn = (name, comment, packages, allowed) => ({
  name,
  comment,
  severity: 'error',
  from: { path: '^(apps|packages|e2e|bench)/', pathNot: allowed },
  to: { path: npm(...packages) },
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Join two modules that import each other, or move what both need into a third.',
      severity: 'error',
      from: { pathNot: '(^|/)generated/' },
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere is a typing error or a missing dependency.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'domain-is-pure',
      comment:
        'The domain needs zod, ulid, node:crypto and node:url. Whatever touches the world is passed in.',
      severity: 'error',
      from: { path: '^packages/domain/', pathNot: TEST_CODE },
      to: { pathNot: ['^packages/domain/', npm('zod', 'ulid'), '^(node:)?(crypto|url)$'] },
    },
    {
      name: 'web-receiver-without-node',
      comment: 'The entry for Web Crypto runs where Node does not.',
      severity: 'error',
      from: { path: '^packages/receiver/src/(web|signed-request|signature-[a-z]+|webhook-event)[.]ts$' },
      to: { pathNot: '^packages/receiver/src/' },
    },
    onlyIn(
      'prisma-only-in-store',
      'packages/store hides how rows are read and written.',
      ['@prisma/[^/]+', 'prisma'],
      '^packages/store/',
    ),
    onlyIn('bullmq-only-in-queue', 'packages/queue hides which queue it is.', ['bullmq'], '^packages/queue/'),
    onlyIn(
      'express-only-in-api-and-console',
      'Only the API speaks HTTP to customers, and the console to operators; the benchmark has a bare route to compare with.',
      ['express'],
      `^(apps/(api|console)|bench)/|${EXAMPLES}`,
    ),
    onlyIn(
      'got-only-in-outbound',
      'Every request to an address that a customer chose passes the guard in packages/outbound.',
      ['got'],
      '^(packages/outbound|bench)/',
    ),
    onlyIn(
      'aws-only-in-mail-and-blobs',
      'packages/mail hides the provider, packages/blobs the store. The fakes of the tests do without the SDK.',
      ['@aws-sdk/[^/]+', '@smithy/[^/]+'],
      '^packages/(mail|blobs)/',
    ),
    onlyIn('winston-only-in-runtime', 'All other code takes a Logger.', ['winston'], '^packages/runtime/'),
    {
      name: 'drivers-only-in-adapters',
      comment: 'Processes and rules see stores and queues, never their connections.',
      severity: 'error',
      from: {
        path: '^(apps|packages)/',
        pathNot: [...TEST_CODE, '^packages/(store|queue|rate-limit|embedded)/'],
      },
      to: { path: npm('pg', 'ioredis') },
    },
    {
      name: 'packages-never-import-apps',
      comment: 'A package does not know who uses it.',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^apps/' },
    },
    {
      name: 'apps-never-import-each-other',
      comment: 'What two processes share is a package.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/', pathNot: '^apps/all/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'all-imports-the-module-of-a-role',
      comment: 'One process of several roles needs the module of each, which has the name of its app.',
      severity: 'error',
      from: { path: '^apps/all/' },
      to: {
        path: '^apps/',
        pathNot: ['^apps/all/', '^apps/(api|relay|worker|inbound|console)/src/\\1[.]ts$'],
      },
    },
    {
      name: 'packages-by-their-index',
      comment: 'A package may change everything that its index does not export.',
      severity: 'error',
      from: { path: '^(apps|packages)/([^/]+)/' },
      to: {
        path: '^packages/[^/]+/src/',
        pathNot: [
          '^packages/[^/]+/src/index[.]ts$',
          '^packages/domain/src/(html-text|message-ids)[.]ts$', // entries of their own, for worker threads
          '^packages/receiver/src/(web|cli/(forward|samples))[.]ts$', // for customers, npm start and the API's document
          '^$1/$2/',
        ],
      },
    },
    {
      name: 'production-never-imports-tests',
      comment: 'Test code is not shipped.',
      severity: 'error',
      from: { path: '^(apps|packages)/', pathNot: TEST_CODE },
      to: { path: TEST_CODE },
    },
    {
      name: 'production-never-needs-dev-dependencies',
      comment: 'Packages that only tests need are not shipped. Types vanish in the build.',
      severity: 'error',
      from: { path: '^(apps|packages)/', pathNot: TEST_CODE },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'], pathNot: npm('@types/[^/]+') },
    },
  ],
  options: {
    doNotFollow: { path: '(^|/)node_modules/' },
    exclude: { path: '(^|/)dist/' },
    tsConfig: { fileName: join(__dirname, 'tsconfig.json') },
    // An import of types is a dependency, too.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
