import tseslint from 'typescript-eslint';

const noProcessEnv = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'Configuration comes from the loader in packages/runtime, never from process.env.',
};
const noModuleMocks = {
  selector: "CallExpression[callee.object.name='jest'][callee.property.name=/^(mock|unstable_mockModule)$/]",
  message: 'Pass the collaborator in; modules are never mocked.',
};
const noCanParse = {
  object: 'URL',
  property: 'canParse',
  message: 'Wrong on Node 22.19 for Latin-1 text once V8 has compiled it: use parseUrl of packages/domain.',
};
const noRawHtml = {
  object: 'html',
  property: 'raw',
  message: 'Every value on a page is escaped.',
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

export default tseslint.config(
  { ignores: ['.node/**', '**/dist/**', '**/generated/**', '.data/**', 'coverage/**', 'prisma.config.ts'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-restricted-syntax': ['error', noProcessEnv, noModuleMocks, noNamedHash, noExportAll],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
      'no-restricted-properties': ['error', noCanParse, noRawHtml],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-invalid-void-type': 'off',
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
    // A test file is one describe after another: its callbacks are not functions to keep short.
    files: ['**/*.test.ts', 'e2e/**/*.ts', 'bench/**/*.ts', 'packages/testing/**/*.ts'],
    rules: { 'max-lines-per-function': 'off' },
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
      'no-console': 'off',
    },
  },
);
