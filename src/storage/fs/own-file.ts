/** Whether a file of the package lies where its code looks for it: a bundle may lack it. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Whether there is a file at a `file:` address; false for other addresses. */
export function hasOwnFile(address: string): boolean {
  try {
    return existsSync(fileURLToPath(address))
  } catch {
    return false
  }
}
