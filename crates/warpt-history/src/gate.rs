//! The rules a merge is judged by, read from a file in the user's repository; typed values, never evaluated code.
