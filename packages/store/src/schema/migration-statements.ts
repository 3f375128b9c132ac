/**
 * Matches strings, quoted names, dollar quotes and comments, whose semicolons do not count; or a semicolon.
 */
const PARTS =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$(?:[a-z_][a-z0-9_]*)?\$)[\s\S]*?\1|--[^\n]*|\/\*[\s\S]*?\*\/|;/gi;

/**
 * The statements of a file, without their semicolons. Strings with backslash escapes (E'\'') are not
 * supported.
 */
export function statementsOf(sql: string): string[] {
  const statements: string[] = [];
  let start = 0;
  for (const { 0: part, index } of sql.matchAll(PARTS)) {
    if (part !== ';') continue;
    statements.push(sql.slice(start, index));
    start = index + 1;
  }
  return [...statements, sql.slice(start)].map(withoutLeadingComments).filter((text) => text !== '');
}

function withoutLeadingComments(text: string): string {
  return text.replace(/^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/, '').trimEnd();
}

/** Whether Postgres runs the statement beside other work on the table. Its waits block no other statement. */
export function isConcurrent(statement: string): boolean {
  return /^(?:create\s+(?:unique\s+)?|drop\s+|re)index\s[^;]*?\bconcurrently\b/i.test(statement);
}

/** The name of the index that `create index concurrently` makes, as written; null for any other statement. */
export function concurrentIndexOf(statement: string): string | null {
  const found =
    /^create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?("(?:[^"]|"")+"|[\w.]+)\s+on\s/i.exec(
      statement,
    );
  return found?.[1] ?? null;
}
