/** Objects with planted bugs. */

/** The target with some of its members replaced; the others work on the target itself. */
export function withMembers<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(target, name) {
      const planted = (members as Record<string | symbol, unknown>)[name]
      if (planted !== undefined) return planted
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}
