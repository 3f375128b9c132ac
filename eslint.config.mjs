import tseslint from 'typescript-eslint';

const noProcessEnv = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'Configuration comes from the loader in packages/runtime, never from process.env.',
};
const noModuleMocks = {
  selector: "CallExpression[callee.object.name='jest'][callee.property.name=/^(mock|unstable_mockModule)$/]",
  message: 'Pass the collaborator in; modules are never mocked.',
};
const noNamedHash = {
  selector: "ImportDeclaration[source.value='node:crypto'] > ImportSpecifier[imported.name='hash']",
  message: 'Node 18 cannot load a bundle that imports it by name. Write `import * as crypto`.',
};
const noExportAll = {
  selector: 'ExportAllDeclaration',
  message: 'Name what you export.',
};
const noClockInDomain = [
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: 'Take a Clock.',
  },
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Take a Clock.' },
];

/** What oxlint has no rule for. It checks everything else: .oxlintrc.json. */
export default [
  {
    ignores: ['.node/**', '**/dist/**', '**/generated/**', '.data/**', 'coverage/**', 'prisma.config.ts'],
  },
  {
    files: ['**/*.ts'],
    languageOptions: { parser: tseslint.parser },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-restricted-syntax': ['error', noProcessEnv, noModuleMocks, noNamedHash, noExportAll],
    },
  },
  {
    files: ['packages/domain/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        noProcessEnv,
        noModuleMocks,
        noNamedHash,
        noExportAll,
        ...noClockInDomain,
      ],
    },
  },
  {
    // The edges of a process: they read the environment once, or write to the terminal on purpose.
    files: [
      'packages/runtime/src/config/environment.ts',
      'packages/testing/**/*.ts',
      'packages/embedded/**/*.ts',
      'apps/quickstart/**/*.ts',
      'apps/cli/**/*.ts',
      'packages/receiver/src/cli/main.ts',
      'scripts/jest/**/*.ts',
      'e2e/**/*.ts',
      'bench/**/*.ts',
    ],
    rules: {
      'no-restricted-syntax': ['error', noModuleMocks, noNamedHash, noExportAll],
    },
  },
];
