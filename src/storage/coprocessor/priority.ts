/**
 * Order of coprocessors, as in HBase: lower priorities first, equal ones in the order of loading.
 */
export const CoprocessorPriority = {
  /** Called before all others. */
  highest: 0,
  /** Called before those of users. */
  system: 536_870_911,
  /** The default. */
  user: 1_073_741_823,
  /** Called after all others. */
  lowest: 2_147_483_647,
} as const
