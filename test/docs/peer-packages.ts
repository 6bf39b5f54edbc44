/** The stores that this one is compared with, where `npm run bench` has installed them. */
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../rules/support.js'

const installed = join(projectRoot, 'bench', 'peers', 'node_modules')

/** Why programs with a package cannot run; false if the package is there. */
export function whyMissing(name: string): string | false {
  return !existsSync(join(installed, name)) && `${name} is not installed; npm run bench does it`
}

/** An empty folder from which `cellardb` and the installed stores are found. */
export function folderOfPrograms(...path: readonly string[]): string {
  const folder = join(projectRoot, 'build', 'docs-peers', ...path)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  symlinkSync(installed, join(folder, 'node_modules'))
  return folder
}
