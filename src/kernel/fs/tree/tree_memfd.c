/* Unnamed files of the tree, for memfd and shared memory (tree.h). */
#include "kernel/fs/tree/tree_internal.h"
#include "kernel/host/host_file.h"

int tree_file_new(struct superblock *sb, uint32_t mode, uint32_t uid, uint32_t gid,
		  struct inode **ret)
{
	int err = tree_inode_new(sb, S_IFREG | (mode & 07777), uid, gid, true, ret);

	if (err == 0)
		(*ret)->nlink = 0;
	return err;
}

int tree_memfd_new(struct superblock *sb, unsigned host_flags, uint32_t uid, uint32_t gid,
		   uint32_t mode, struct inode **ret)
{
	struct inode *inode;
	int err = tree_file_new(sb, mode, uid, gid, &inode);

	if (err < 0)
		return err;
	struct tree_node *node = tree_node(inode);
	err = host_memfd_create(host_flags, &node->ref);
	if (err < 0) {
		inode_put(inode);
		return err;
	}
	node->storage = TREE_STORE;
	*ret = inode;
	return 0;
}

struct host_ref *tree_memfd_ref(struct inode *inode)
{
	if (inode->ops != IOPS_TREE || !S_ISREG(inode->mode))
		return NULL;
	struct tree_node *node = tree_node(inode);
	return node->ref.kind == HOST_REF_MEMFD ? &node->ref : NULL;
}
