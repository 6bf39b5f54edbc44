/**
 * The data of the library: the packages that npm has installed with this project, as their
 * authors describe them in package.json, with their read-me files.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A package. */
export interface Package {
  readonly name: string
  readonly release: string
  readonly description: string
  readonly licence: string
  readonly keywords: readonly string[]
  /** Names of the packages that it needs. */
  readonly dependencies: readonly string[]
  readonly readme: Buffer | undefined
}

interface PackageFile {
  readonly name?: string
  readonly version?: string
  readonly description?: unknown
  readonly license?: unknown
  readonly keywords?: unknown
  readonly dependencies?: Readonly<Record<string, string>>
}

const folder = join(import.meta.dirname, '../../../node_modules')

function foldersOf(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    if (!entry.isDirectory() || entry.name.startsWith('.')) return []
    return entry.name.startsWith('@') ? foldersOf(path) : [path]
  })
}

function readmeOf(path: string): Buffer | undefined {
  const name = ['README.md', 'readme.md', 'Readme.md'].find((each) => existsSync(join(path, each)))
  return name === undefined ? undefined : readFileSync(join(path, name))
}

/** All packages, by name. */
export function readPackages(): Package[] {
  const packages: Package[] = []
  for (const path of foldersOf(folder)) {
    if (!existsSync(join(path, 'package.json'))) continue
    const file = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as PackageFile
    const { name, version, description, license, keywords, dependencies = {} } = file
    if (name === undefined || version === undefined) continue
    packages.push({
      name,
      release: version,
      description: typeof description === 'string' ? description : '',
      licence: typeof license === 'string' ? license : 'other',
      keywords: Array.isArray(keywords) ? keywords.map(String) : [],
      dependencies: Object.keys(dependencies).sort(),
      readme: readmeOf(path),
    })
  }
  return packages.sort((a, b) => (a.name < b.name ? -1 : 1))
}
