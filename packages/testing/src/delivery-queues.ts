/** The keys in Redis of the queues that deliveries go through. @param prefix QUEUE_PREFIX */
export function deliveryQueues(prefix: string): string[] {
  return ['fast', 'slow'].map((lane) => `{${prefix}}:deliveries-${lane}`);
}
