/**
 * The one order in which statements lock suppressions, so that no two can lock each other out: by address, then by
 * topic. By bytes, as ids and addresses have no language, and the database's own collation would be another one elsewhere.
 *
 * @param columns those of the address and, where rows about topics can be among them, the topic.
 */
export function lockOrder(...columns: readonly [address: string, topic?: string]): string {
  return columns.map((column) => `${column} collate "C"`).join(', ');
}
