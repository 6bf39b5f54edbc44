/**
 * The lock file: every package comes from the registry with its digest, and has a licence that its
 * users may live with.
 *
 * @runs together
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../helpers/project-root.js'

interface LockedPackage {
  readonly resolved?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
}

interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

const registry = 'https://registry.npmjs.org/'

const permissive = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
])

/** What is wrong with the packages of a lock file. */
function complaints({ packages }: LockFile): string[] {
  return Object.entries(packages).flatMap(([path, each]) => {
    if (path === '') return []
    const found: string[] = []
    // Without an origin it is the registry.
    const { resolved = registry } = each
    if (!resolved.startsWith(registry)) found.push('its origin')
    if (each.integrity?.startsWith('sha512-') !== true) found.push('its digest')
    // `A OR B` needs one, `A AND B` each.
    const isPermitted = (each.license ?? '')
      .replace(/[()]/g, '')
      .split(' OR ')
      .some((all) => all.split(' AND ').every((one) => permissive.has(one)))
    // Tools of the developers are not given to anybody.
    if (!isPermitted && each.dev !== true)
      found.push(`the licence ${each.license ?? 'that is missing'}`)
    return found.map((what) => `${path}: ${what}`)
  })
}

void t.test('packages of the lock file have origin, digest and licence', (t) => {
  const lockFile = JSON.parse(
    readFileSync(join(projectRoot, 'package-lock.json'), 'utf8'),
  ) as LockFile
  t.strictSame(complaints(lockFile), [])
  const wrong = {
    packages: { 'node_modules/x': { resolved: 'git+ssh://git@host/x', license: 'UNLICENSED' } },
  }
  t.equal(complaints(wrong).length, 3)
  t.end()
})
