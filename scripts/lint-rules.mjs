/**
 * Our rules for oxlint. Each reports the nodes that its selectors match.
 * `.oxlintrc.json` names the files that a rule checks.
 */
const FORBIDDEN = {
  'no-process-env': {
    "MemberExpression[object.name='process'][property.name='env']":
      'Configuration comes from the loader in packages/runtime, never from process.env.',
  },
  'no-module-mocks': {
    "CallExpression[callee.object.name='jest'][callee.property.name=/^(mock|unstable_mockModule)$/]":
      'Pass the collaborator in; modules are never mocked.',
  },
  'no-named-hash': {
    "ImportDeclaration[source.value='node:crypto'] > ImportSpecifier[imported.name='hash']":
      'Node 18 cannot load a bundle that imports it by name. Write `import * as crypto`.',
  },
  'no-export-all': { ExportAllDeclaration: 'Name what you export.' },
  'no-clock': {
    "CallExpression[callee.object.name='Date'][callee.property.name='now']": 'Take a Clock.',
    "NewExpression[callee.name='Date'][arguments.length=0]": 'Take a Clock.',
  },
};

export default {
  meta: { name: 'postrider' },
  rules: Object.fromEntries(
    Object.entries(FORBIDDEN).map(([name, messages]) => [name, ruleThatForbids(messages)]),
  ),
};

function ruleThatForbids(messages) {
  return {
    create: (context) =>
      Object.fromEntries(
        Object.entries(messages).map(([selector, message]) => [
          selector,
          (node) => context.report({ node, message }),
        ]),
      ),
  };
}
