/**
 * The release of this package, which must be that of its addon. It is no longer in a file beside this code once an
 * application's bundler has made them one.
 */
export const RELEASE = "0.1.0";
