/** The files of the pages. In the package the bundle holds their texts, in place of this module. */
import { readFileSync } from 'node:fs'

const folder = new URL('pages/', import.meta.url.replace('/build/src/', '/src/'))

/** The text of a file in the folder `pages`. */
export function pageFile(name: string): string {
  return readFileSync(new URL(name, folder), 'utf8')
}
