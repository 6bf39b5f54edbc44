/** Where the project lies, for tests that run from `build/test` or from their source. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

function rootAbove(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootAbove(dirname(directory))
}

/** The directory that holds package.json. */
export const projectRoot = rootAbove(import.meta.dirname)
