/**
 * The order in which every statement locks suppressions, so that no two statements deadlock: by address, then
 * by topic.
 *
 * Bytes are compared, because the database's own collation differs between installations.
 *
 * @param columns the column of the address and, if rows about topics may be among them, of the topic
 */
export function lockOrder(...columns: readonly [address: string, topic?: string]): string {
  return columns.map((column) => `${column} collate "C"`).join(', ');
}
