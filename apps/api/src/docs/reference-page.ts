import { markup } from '../http/markup.ts';
import type { Markup } from '../http/markup.ts';
import { page } from '../http/page.ts';

/** The parts of the OpenAPI document that the page shows. */
export interface ShownDocument {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ShownOperation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: ShownOperation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

interface ShownOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly ShownParameter[];
  readonly requestBody?: ShownContent;
  readonly responses: Readonly<Record<string, ShownContent>>;
}

interface ShownParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: object;
  readonly example?: unknown;
}

interface ShownContent {
  readonly description?: string;
  readonly content?: Readonly<Record<string, { readonly schema: object; readonly example?: unknown }>>;
}

/** The page `/docs`: each operation, event and schema of the document. It has no script and loads nothing. */
export function referencePage(document: ShownDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
      key: neededKey(operation),
    })),
  );
  const events = Object.entries(document.webhooks).map(([name, { post }]) => ({
    name,
    operation: post,
    key: null,
  }));
  const all = [...operations, ...events];
  const groups = document.tags.map(({ name, description }) => {
    const members = all.filter(({ operation }) => operation.tags.includes(name));
    return section(name, markup`<p>${description}</p>${members.map(operationSection)}`);
  });
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) =>
    folded(`schema-${name}`, markup`${name}`, schemaText(schema)),
  );
  return page(
    'Postrider API',
    markup`<p>This page for programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
${groups}${section(SCHEMAS, markup`${schemas}`)}`,
    contents([...document.tags.map(({ name }) => name), SCHEMAS]),
  );
}

const SCHEMAS = 'Schemas';

function section(name: string, content: Markup): Markup {
  return markup`<section><h2 id="${sectionId(name)}">${name}</h2>${content}</section>`;
}

function sectionId(name: string): string {
  return `section-${name.toLowerCase().replaceAll(' ', '-')}`;
}

/** Links to the sections. The page has close to 200 summaries, and each takes the focus. */
function contents(names: readonly string[]): Markup {
  const links = names.map((name) => markup`<li><a href="#${sectionId(name)}">${name}</a></li>`);
  return markup`<a class="skip" href="#main">Skip the contents</a>
<nav aria-label="Contents"><ul>${links}</ul></nav>
`;
}

/** A link to an element inside a `details` opens the `details`. A link to the `details` itself does not. */
function folded(id: string, summary: Markup, content: Markup): Markup {
  return markup`<details><summary><h3>${summary}</h3></summary><div id="${id}">${content}</div></details>
`;
}

interface NamedOperation {
  readonly name: string;
  readonly operation: ShownOperation;
  /** Says which key a request needs. Null for an event, which a worker posts. */
  readonly key: string | null;
}

function neededKey({ security }: ShownOperation): string {
  const scopes = security.flatMap((one) => Object.values(one).flat());
  return scopes.length === 0 ? 'It needs no key.' : `It needs a key with the scope ${scopes.join(', ')}.`;
}

function operationSection({ name, operation, key }: NamedOperation): Markup {
  const { operationId, summary, description = '', parameters = [], requestBody, responses } = operation;
  const answers = Object.entries(responses).map(
    ([status, answer]) => markup`<dt>${status}</dt><dd>${contentOf(answer)}</dd>`,
  );
  return folded(
    operationId,
    markup`<code>${name}</code> ${summary}`,
    markup`<p>${description}</p>${key === null ? null : markup`<p>${key}</p>`}${parametersList(parameters)}
${requestBody === undefined ? null : markup`<h4>Request</h4>${contentOf(requestBody)}`}
<h4>Answers</h4><dl>${answers}</dl>`,
  );
}

function parametersList(parameters: readonly ShownParameter[]): Markup | null {
  if (parameters.length === 0) return null;
  const rows = parameters.map(
    ({ name, in: place, required = false, description = '', schema, example }) =>
      markup`<dt><code>${name}</code> in ${place}${required ? ', required' : ''}</dt><dd>${description} ${schemaText(schema)}${exampleText(example)}</dd>`,
  );
  return markup`<h4>Parameters</h4><dl>${rows}</dl>`;
}

function contentOf({ description = '', content = {} }: ShownContent): Markup {
  const bodies = Object.entries(content).map(
    ([type, { schema, example }]) =>
      markup`<p><code>${type}</code></p>${schemaText(schema)}${exampleText(example)}`,
  );
  return markup`<p>${description}</p>${bodies}`;
}

/** A reference to a named schema is shown as a link to that schema. Any other schema is shown as JSON. */
function schemaText(schema: object): Markup {
  const name = '$ref' in schema ? String(schema.$ref).split('/').at(-1) : undefined;
  if (name !== undefined && Object.keys(schema).length === 1) {
    return markup`<p><a href="#schema-${name}">${name}</a></p>`;
  }
  return markup`<pre>${JSON.stringify(schema, null, 2)}</pre>`;
}

function exampleText(example: unknown): Markup | null {
  if (example === undefined) return null;
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
  return markup`<p>Example:</p><pre>${text}</pre>`;
}
