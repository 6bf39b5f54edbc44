/** Finds a browser for tests of pages, and draws pages. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Page } from 'playwright-core'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

function findBrowser(): string | undefined {
  const given = process.env['CHROME_PATH']
  if (given !== undefined) return given
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const paths = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  const macOs = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
  return [...paths, macOs].find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Path of Chromium. */
export const executablePath = findBrowser()
/** Why tests of pages are skipped; false if there is a browser. */
export const skip = executablePath === undefined ? 'no Chromium: set CHROME_PATH to one' : false
/** Draws the page in two widths if CELLAR_SCREENSHOTS names a folder. */
export async function draw(page: Page, name: string): Promise<void> {
  const folder = process.env['CELLAR_SCREENSHOTS']
  if (folder === undefined) return
  for (const width of [400, 1400]) {
    await page.setViewportSize({ width, height: 900 })
    await page.screenshot({ path: join(folder, `${name}-${width}.png`), fullPage: true })
  }
}
