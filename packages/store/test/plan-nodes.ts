/** A step of a plan, as `explain (format json)` prints it. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  /** What the step above takes it for: `Outer`, `Inner`, `InitPlan`, … */
  readonly 'Parent Relationship'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** The node and all below it. */
export function nodesOf<Node extends { readonly Plans?: readonly Node[] }>(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap((child) => nodesOf(child))];
}

/** Steps that need all their rows before they return the first one. */
const NEEDS_ALL = /^(?:Sort|Aggregate|WindowAgg|Materialize|Hash|ModifyTable)$/;

/**
 * The scans of the plan that go through a whole table or a whole index. A scan below a limit ends early, if no step
 * between them needs all its rows. A condition on another column of an index than the first reads all its entries, too.
 *
 * @param firstColumns the first column of each index. Without it, any condition counts.
 */
export function wholeScans(
  node: PlanNode,
  firstColumns: ReadonlyMap<string, string> = new Map(),
  isLimited = false,
): string[] {
  const { 'Node Type': type, 'Relation Name': table, 'Index Name': index, 'Index Cond': condition } = node;
  if (type === 'Seq Scan' && table !== undefined) return [table];
  if (index !== undefined && !isLimited && condition?.includes(firstColumns.get(index) ?? '') !== true)
    return [index];
  const ends = type === 'Limit' || (isLimited && !NEEDS_ALL.test(type));
  return (node.Plans ?? []).flatMap((child) => wholeScans(child, firstColumns, ends));
}

const JOINS: readonly string[] = ['Nested Loop', 'Merge Join', 'Hash Join'];

/** The whole scans below the two sides of each join of the plan. */
export function joinedWholeScans(plan: PlanNode): string[] {
  const joins = nodesOf(plan).filter((node) => JOINS.includes(node['Node Type']));
  const sides = joins.flatMap(({ Plans = [] }) =>
    Plans.filter(
      (side) => side['Parent Relationship'] === 'Outer' || side['Parent Relationship'] === 'Inner',
    ),
  );
  return sides.flatMap((side) => wholeScans(side));
}
