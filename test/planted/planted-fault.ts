/** A fault that is planted in a copy of the build, and the tests that must find it. */
export interface PlantedFault {
  /** The fault, as a sentence. */
  readonly name: string
  /** The source file, from the root of the project, with slashes. */
  readonly file: string
  /** Text that occurs exactly once in the file. */
  readonly find: string
  /** The faulty text in its place. */
  readonly replace: string
  /**
   * Test files, from the root of the project; at least one of them must fail. May be empty if a
   * kind of the campaign finds the fault.
   */
  readonly tests: readonly string[]
  /**
   * A kind of the campaign of which one round finds the fault. Default: none that was tried. `npm
   * run planted -- --campaign` runs these rounds in place of the tests.
   */
  readonly foundBy?: string
  /** Seed of the round. Default 1. */
  readonly seed?: number
}
