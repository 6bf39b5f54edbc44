/** How often a phase calls its generator, from the number of records. */

/** As often as there are records. */
export const every = (records: number): number => records

/** A part of that. */
export const part =
  (divisor: number) =>
  (records: number): number =>
    records / divisor
